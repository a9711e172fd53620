import { randomBytes } from 'node:crypto'
import {
  bigintArray,
  byteaArray,
  integerArray,
  textArray,
} from '../../../src/inbox/postgres/binary-arrays.js'
import { describeWithAnyDatabase } from '../../support/postgres-inbox.js'

describeWithAnyDatabase('an array in the binary format of PostgreSQL', (database) => {
  const read = async (type: string, array: Buffer) => {
    const { rows } = await database.query(
      `SELECT array_agg(element ORDER BY place) AS elements
      FROM unnest($1::${type}[]) WITH ORDINALITY AS given (element, place)`,
      [array],
    )
    return (rows as { elements: unknown }[])[0]!.elements
  }

  it.each([
    [['']],
    [['a', null, 'b']],
    [[null]],
    [['NULL', '{"a,b"}', '\\', "'", '\u001a', 'ü', '€', '😀'.repeat(5_000)]],
    [Array.from({ length: 256 }, (_, index) => 'x'.repeat(index))],
  ])('has the texts that were given, case %#', async (texts) => {
    expect(await read('text', textArray(texts))).toEqual(texts)
  })

  it('has a replacement character for half of a surrogate pair, which UTF-8 cannot express', async () => {
    expect(await read('text', textArray(['a\ud83d', 'b']))).toEqual(['a\ufffd', 'b'])
  })

  it('has the bytes that were given', async () => {
    const values = [randomBytes(0), randomBytes(1), randomBytes(100_000)]
    expect(await read('bytea', byteaArray(values))).toEqual(values)
  })

  it('has the numbers that were given', async () => {
    const bigints = [0n, -1n, null, 2n ** 63n - 1n, -(2n ** 63n), 1_763_829_296_000n]
    expect(await read('bigint', bigintArray(bigints))).toEqual(
      bigints.map((value) => (value === null ? null : String(value))),
    )
    const integers = [0, -1, 2 ** 31 - 1, -(2 ** 31)]
    expect(await read('integer', integerArray(integers))).toEqual(integers)
  })

  it('may be empty', async () => {
    for (const [type, array] of [
      ['text', textArray([])],
      ['bytea', byteaArray([])],
      ['bigint', bigintArray([])],
      ['integer', integerArray([])],
    ] as const)
      expect(await read(type, array)).toBeNull()
  })
})
