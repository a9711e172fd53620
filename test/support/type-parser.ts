import pg from 'pg'

/** The options of a pool that parses the values of one type in its own way. */
export function parsing(type: number, parser: (text: string) => unknown): pg.PoolConfig {
  const getTypeParser = (oid: number, format: 'text') =>
    oid === type ? parser : pg.types.getTypeParser(oid, format)
  return { types: { getTypeParser } as pg.CustomTypesConfig }
}
