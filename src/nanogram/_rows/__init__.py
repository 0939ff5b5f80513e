"""Row sources, one file a kind; `nanogram.rows` is their front door."""
