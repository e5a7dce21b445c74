"""One file for each verb: what a user asks for, put together from the rooms below."""
