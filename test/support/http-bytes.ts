/** A request with another head: for what no client would send. Header bytes are Latin-1. */
export function editHead(request: Uint8Array, edit: (head: string) => string): Buffer {
  const bytes = Buffer.from(request)
  const end = bytes.indexOf('\r\n\r\n')
  return Buffer.concat([Buffer.from(edit(bytes.toString('latin1', 0, end)), 'latin1'), bytes.subarray(end)])
}

/** A request with further header lines, below those it has. */
export function withLines(request: Uint8Array, ...lines: string[]): Buffer {
  return editHead(request, (head) => [head, ...lines].join('\r\n'))
}

/** A request in which one header line has been replaced. */
export function withHeader(request: Uint8Array, name: string, value: string): Buffer {
  return editHead(request, (head) => {
    const line = new RegExp(`^${name}:.*$`, 'im')
    if (!line.test(head)) throw new Error(`there is no header ${name} to replace`)
    return head.replace(line, () => `${name}: ${value}`)
  })
}

/** A request in pieces that end at these places. */
export function cut(request: Uint8Array, ...places: number[]): Buffer[] {
  const bytes = Buffer.from(request)
  return [...places, bytes.length].map((end, index) => bytes.subarray(places[index - 1] ?? 0, end))
}
