const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** A UUID of any version, in either case: the service documents only "UUID" (SERVICE 2.2, 4.2 and 6). */
export function isUuid(value: unknown): value is string {
  return typeof value === 'string' && UUID.test(value)
}
