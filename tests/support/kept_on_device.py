"""What the respondent's page keeps in a browser, read by another script of the same place."""

from typing import Any

KEPT = """async () => {
  if (!(await indexedDB.databases()).some(({ name }) => name === "maskwell")) return {}; // opening would make one
  const done = (request) => new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
  const database = await done(indexedDB.open("maskwell"));
  const store = database.transaction("maskwell").objectStore("maskwell");
  const [keys, values] = await Promise.all([done(store.getAllKeys()), done(store.getAll())]);
  database.close();
  return Object.fromEntries(keys.map((key, i) => [key, values[i]]));
}"""
"""A function of the browser that gives everything that is kept, under its key."""

CHANGE = """([name, report]) => new Promise((resolve, reject) => {
  const opening = indexedDB.open("maskwell");
  opening.onsuccess = () => {
    const transaction = opening.result.transaction("maskwell", "readwrite");
    transaction.objectStore("maskwell").openCursor().onsuccess = ({ target }) => {
      const kept = target.result.value;
      kept.reports[name] = report;
      target.result.update(kept);
    };
    transaction.oncomplete = () => { opening.result.close(); resolve(); };
    transaction.onabort = () => reject(transaction.error);
  };
})"""


def kept_by(page: Any) -> dict[str, Any]:
    """Everything that is kept in the page's browser, under its key."""
    kept: dict[str, Any] = page.evaluate(KEPT)
    return kept


def change_kept(page: Any, name: str, report: Any) -> None:
    """Replace the report of a question, without a word to other tabs."""
    page.evaluate(CHANGE, [name, report])
