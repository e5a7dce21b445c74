"""Write the page: python -m docs.reproduction."""

from __future__ import annotations

from docs.reproduction.page import PATH, page

if __name__ == "__main__":
    PATH.write_text(page(), encoding="utf-8")
