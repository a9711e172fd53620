/** The argument of a function. A caller without types may leave it out: then each field is missing, which is reported. */
export function fieldsOf<Input extends object>(input: Input | undefined): Input {
  return input ?? ({} as Input)
}
