import { setImmediate as nextTick } from 'node:timers/promises'
import { createClient } from 'redis'
import { RedisServer } from './redis-server.js'
import { freePort } from './server-program.js'

const SLOTS = 16_384

/** A Redis Cluster of three primaries on the loopback interface. */
export class RedisCluster {
  readonly nodes: readonly RedisServer[]

  private constructor(nodes: readonly RedisServer[]) {
    this.nodes = nodes
  }

  static async start(): Promise<RedisCluster> {
    const busPorts = [await freePort(), await freePort(), await freePort()]
    const nodes = await Promise.all(
      busPorts.map((port) => RedisServer.start(['--cluster-enabled', 'yes', '--cluster-port', String(port)])),
    )
    const clients = await Promise.all(nodes.map(({ url }) => createClient({ url }).connect()))
    const per = Math.ceil(SLOTS / nodes.length)
    for (const [index, client] of clients.entries()) {
      // Nodes of the same epoch give themselves new ones later. During a move, both nodes may then refuse the slot forever.
      await client.sendCommand(['CLUSTER', 'SET-CONFIG-EPOCH', String(index + 1)])
      const range = [index * per, Math.min((index + 1) * per, SLOTS) - 1].map(String)
      await client.sendCommand(['CLUSTER', 'ADDSLOTSRANGE', ...range])
      await client.sendCommand(['CLUSTER', 'MEET', '127.0.0.1', String(nodes[0]!.port), String(busPorts[0])])
    }
    for (const client of clients) {
      const isReady = async () => /cluster_state:ok[^]*cluster_known_nodes:3/.test(await clusterInfo(client))
      while (!(await isReady())) await nextTick()
      client.destroy()
    }
    return new RedisCluster(nodes)
  }

  /**
   * Moves the slot of a key to another node. `inBoth` runs while the keys are on the old node and both nodes know of the move,
   * `inNone` while each node says that the other has the slot.
   */
  async moveSlotOf(
    key: string,
    { inBoth, inNone }: Partial<Record<'inBoth' | 'inNone', (from: RedisServer) => Promise<void>>>,
  ): Promise<void> {
    const slot = String(await this.nodes[0]!.command('CLUSTER', 'KEYSLOT', key))
    const owns = async (node: RedisServer) => {
      const [, ranges] = /myself,master .* connected (.*)/.exec(
        String(await node.command('CLUSTER', 'NODES')),
      )!
      return ranges!.split(' ').some((range) => {
        const [first, last = first] = range.split('-').map(Number)
        return first! <= Number(slot) && Number(slot) <= last!
      })
    }
    const owners = await Promise.all(this.nodes.map(owns))
    const from = this.nodes[owners.indexOf(true)]!
    const to = this.nodes[owners.indexOf(false)]!
    const [fromId, toId] = await Promise.all(
      [from, to].map(async (node) => String(await node.command('CLUSTER', 'MYID'))),
    )
    await to.command('CLUSTER', 'SETSLOT', slot, 'IMPORTING', fromId!)
    await from.command('CLUSTER', 'SETSLOT', slot, 'MIGRATING', toId!)
    await inBoth?.(from)
    const keys = (await from.command('CLUSTER', 'GETKEYSINSLOT', slot, '1000')) as string[]
    await from.command('MIGRATE', '127.0.0.1', String(to.port), '', '0', '5000', 'KEYS', ...keys)
    await from.command('CLUSTER', 'SETSLOT', slot, 'NODE', toId!)
    await inNone?.(from)
    await to.command('CLUSTER', 'SETSLOT', slot, 'NODE', toId!)
  }

  async stop(): Promise<void> {
    for (const node of this.nodes) await node.stop()
  }
}

async function clusterInfo(client: { sendCommand(args: string[]): Promise<unknown> }): Promise<string> {
  return String(await client.sendCommand(['CLUSTER', 'INFO']))
}
