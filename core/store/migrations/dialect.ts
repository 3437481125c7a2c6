// The SQL words in which database engines differ when tables are created.
export interface Dialect {
  /** The type of a primary key column that numbers the rows in insertion order. */
  sequence: string
  integer: string
  /** The type of texts. They are compared by their bytes. */
  text: string
  /** The suffix of CREATE TABLE. */
  table: string
  /** The suffix of CREATE TABLE for a table whose rows are only looked up by primary key. */
  keyed: string
}
