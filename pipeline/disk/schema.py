"""The tables of `<state>/ledger.db`, documented for everyone who reads it with sqlite3, DuckDB or Datasette."""

from __future__ import annotations

APPLICATION_ID = 0x636D7064  # "cmpd"
USER_VERSION = 1

TABLES = """
-- key/value: 'state_id' (also in <state>/identity), 'created' (unix seconds), 'commits'
-- (count of transactions; <state>/identity has it, too, so that a ledger that lost some is found out).
CREATE TABLE meta(key TEXT PRIMARY KEY, value) WITHOUT ROWID;

-- Interned words: outcome, reason, stage, tool and rule columns hold ids of this table; 0 means none.
CREATE TABLE name(id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);

-- A folder with sessions. `path` is bytes as the file system has them, `name` the folder below <out>.
CREATE TABLE root(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, path BLOB NOT NULL UNIQUE);

-- One source file. `rel` is its path below the root, `out_rel` the output's path below <out>/<root name> (bytes).
-- `generation` is the current one, 0 before the first is complete. `moved_from`: its old path below <out> while a
-- rename of the output is under way.
CREATE TABLE session(
  id INTEGER PRIMARY KEY, root INTEGER NOT NULL, rel BLOB NOT NULL, out_rel BLOB NOT NULL,
  generation INTEGER NOT NULL DEFAULT 0, dev INTEGER NOT NULL DEFAULT 0, inode INTEGER NOT NULL DEFAULT 0,
  size INTEGER NOT NULL DEFAULT 0, mtime_ns INTEGER NOT NULL DEFAULT 0, moved_from BLOB, UNIQUE(root, rel));
CREATE INDEX session_inode ON session(inode);

-- One life of a session's content, with its checkpoint: `src_off` source bytes are committed as `out_len` output
-- bytes in `records` records. state: 'building' (output is <name>.tmp), 'swapping', 'current', 'superseded'.
-- head: xxh3_64 of the first `head_len` source bytes; marker: of the `marker_len` source bytes before src_off;
-- out_marker: of the `out_marker_len` output bytes before out_len. open_tail: 1 when the last record has no newline.
-- `format` and `config` hold for the whole generation. config: digest of settings and rules version; behind it
-- "+format" when a command gave the format, "@format" when the configuration gave it for the root.
CREATE TABLE generation(
  session INTEGER NOT NULL, generation INTEGER NOT NULL, state TEXT NOT NULL, format TEXT NOT NULL,
  config TEXT NOT NULL, src_off INTEGER NOT NULL, out_len INTEGER NOT NULL, records INTEGER NOT NULL,
  head_len INTEGER NOT NULL, head_hash INTEGER NOT NULL, marker_len INTEGER NOT NULL, marker_hash INTEGER NOT NULL,
  out_marker_len INTEGER NOT NULL, out_marker_hash INTEGER NOT NULL, open_tail INTEGER NOT NULL,
  PRIMARY KEY(session, generation)) WITHOUT ROWID;

-- One row a record: spans in source and output, hash8 = xxh3_64 of the source bytes (signed), day = days since
-- 1970-01-01 (UTC) of the record's own timestamp, else of the commit.
CREATE TABLE record(
  session INTEGER NOT NULL, generation INTEGER NOT NULL, ordinal INTEGER NOT NULL, src_off INTEGER NOT NULL,
  src_len INTEGER NOT NULL, out_off INTEGER NOT NULL, out_len INTEGER NOT NULL, hash8 INTEGER NOT NULL,
  day INTEGER NOT NULL, outcome INTEGER NOT NULL, reason INTEGER NOT NULL,
  PRIMARY KEY(session, generation, ordinal)) WITHOUT ROWID;

-- One row a site considered, n = 0.. within the record, in document order of the record. For an applied edit
-- off_in_output_record and bytes_after are the span of the new value in the output record, bytes_before the length
-- of the original token, value the original in the vault (0 when the vault is off). Else bytes_after = bytes_before,
-- off_in_output_record = 0 and value = 0.
CREATE TABLE site(
  session INTEGER NOT NULL, generation INTEGER NOT NULL, ordinal INTEGER NOT NULL, n INTEGER NOT NULL,
  stage INTEGER NOT NULL, tool INTEGER NOT NULL, rule INTEGER NOT NULL, reason INTEGER NOT NULL,
  applied INTEGER NOT NULL, off_in_output_record INTEGER NOT NULL, bytes_after INTEGER NOT NULL,
  bytes_before INTEGER NOT NULL, value INTEGER NOT NULL,
  PRIMARY KEY(session, generation, ordinal, n)) WITHOUT ROWID;

-- One row a distinct original: first 16 bytes of its SHA-256; the entry lies at `off` (start of the value bytes) with
-- `len` bytes in the uncompressed frame that starts at byte `frame` of pack `pack`.
CREATE TABLE value(
  id INTEGER PRIMARY KEY, digest16 BLOB NOT NULL, pack INTEGER NOT NULL, frame INTEGER NOT NULL,
  off INTEGER NOT NULL, len INTEGER NOT NULL);
CREATE INDEX value_digest ON value(digest16);

-- Committed length of each pack.
CREATE TABLE pack(id INTEGER PRIMARY KEY, length INTEGER NOT NULL);

-- Sums for `stats`, kept in the commit's own transaction. stage = 0: sums over record rows (records, source_bytes =
-- src_len, output_bytes = out_len; rule = outcome, reason = reason). stage > 0: sums over site rows (sites, edits,
-- source_bytes = bytes_before, output_bytes = bytes_after).
CREATE TABLE rollup(
  session INTEGER NOT NULL, generation INTEGER NOT NULL, day INTEGER NOT NULL, stage INTEGER NOT NULL,
  tool INTEGER NOT NULL, rule INTEGER NOT NULL, reason INTEGER NOT NULL, records INTEGER NOT NULL,
  sites INTEGER NOT NULL, edits INTEGER NOT NULL, source_bytes INTEGER NOT NULL, output_bytes INTEGER NOT NULL,
  PRIMARY KEY(session, generation, day, stage, tool, rule, reason)) WITHOUT ROWID;

-- The rollup of all current generations together, kept in the same transaction: one row a day and tool, rule, stage,
-- root or format (`grouping`). key: the id of its name, or of its root; for 'rule' that of the reason where no rule
-- changed anything. For tool, rule and stage the bytes are those of sites, and records is 0; for root and format the
-- bytes are those of records.
CREATE TABLE total(
  grouping TEXT NOT NULL, day INTEGER NOT NULL, key INTEGER NOT NULL, records INTEGER NOT NULL,
  sites INTEGER NOT NULL, edits INTEGER NOT NULL, source_bytes INTEGER NOT NULL, output_bytes INTEGER NOT NULL,
  PRIMARY KEY(grouping, day, key)) WITHOUT ROWID;

-- Where else a session's output lay before its source was moved: older edit lists in the vault have that path.
CREATE TABLE former_path(
  session INTEGER NOT NULL, out_path BLOB NOT NULL, PRIMARY KEY(session, out_path)) WITHOUT ROWID;
"""
