type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false

/** `equal<Expected>()(value)` compiles only when the type of the value is exactly the one expected. */
export declare function equal<Expected>(): <Found>(
  value: Found,
  ...same: Same<Expected, Found> extends true ? [] : ['is not the expected type']
) => void
