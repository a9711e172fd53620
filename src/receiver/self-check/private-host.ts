import { BlockList, isIPv4 } from 'node:net'

const addresses = new BlockList()
for (const [net, bits] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
] as const)
  addresses.addSubnet(net, bits)
for (const [net, bits] of [
  ['::', 127],
  ['fc00::', 7],
  ['fe80::', 10],
] as const)
  addresses.addSubnet(net, bits, 'ipv6')

/** RFC 6761, RFC 6762 and RFC 9476, and what private networks use. */
const PRIVATE_NAME = /^[^.]+$|(?:^|\.)(?:localhost|local|internal|intranet|lan|home\.arpa|test|invalid)\.?$/i

/** Whether the host of a URL cannot be reached from the internet, as far as its name or address shows it. */
export function isPrivateHost(hostname: string): boolean {
  // Not isIPv6: its first call compiles an expression for 4 ms, and a URL has IPv6 addresses in brackets.
  if (hostname.startsWith('[')) return addresses.check(hostname.slice(1, -1), 'ipv6')
  return isIPv4(hostname) ? addresses.check(hostname) : PRIVATE_NAME.test(hostname)
}
