import fc from 'fast-check'

/**
 * A text of any code points but surrogates, as fast-check's unit `binary` makes it. That unit takes seconds to be built in each
 * test file.
 */
export function anyText(lengths: { minLength?: number; maxLength?: number } = {}): fc.Arbitrary<string> {
  return fc.string({ unit: codePoint, ...lengths })
}

const codePoint = fc
  .oneof(
    fc.integer({ min: 0, max: 0x7f }),
    fc.integer({ min: 0, max: 0xd7ff }),
    fc.integer({ min: 0xe000, max: 0x10_ffff }),
  )
  .map((code) => String.fromCodePoint(code))
