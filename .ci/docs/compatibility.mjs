import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import prettier from 'prettier'
import { manifest, read, root } from './project.mjs'

const PAGE = 'docs/compatibility.md'
const BETWEEN_MARKERS = /(?<=<!-- compatibility -->\n)[^]*?(?=<!-- \/compatibility -->)/

/**
 * docs/compatibility.md has the versions that .ci/run tries: those that it downloads, and those of package-lock.json. It says of each
 * dependency and peer what needs it.
 */
export async function checkCompatibility() {
  const page = read(PAGE)
  const unexplained = [manifest.dependencies, manifest.peerDependencies]
    .flatMap(Object.keys)
    .filter((name) => !page.split('## Dependencies')[1]?.includes(`\`${name}\``))
    .map((name) => `${PAGE}: does not say what uses ${name}`)
  if (BETWEEN_MARKERS.exec(page)?.[0] === (await compatibilityTable())) return unexplained
  return [...unexplained, `${PAGE}: the table is not what .ci/run tries: run node .ci/docs-check.mjs --write`]
}

export async function writeCompatibility() {
  const table = await compatibilityTable()
  writeFileSync(
    join(root, PAGE),
    read(PAGE).replace(BETWEEN_MARKERS, () => table),
  )
}

async function compatibilityTable() {
  const { packages } = JSON.parse(read('package-lock.json'))
  // An older major version is installed under another name, such as express4.
  const installed = (name) =>
    [`${name}4`, name].flatMap((key) => packages[`node_modules/${key}`]?.version ?? [])
  const peers = Object.entries(manifest.peerDependencies).map(([name, range]) => [
    `\`${name}\``,
    ranges(range),
    list(installed(name)),
  ])
  const run = read('.ci/run')
  const rows = [
    ['Node', ranges(manifest.engines.node), list(found(run, /^for version in ([\d ]+);/m).split(' '))],
    [
      'TypeScript',
      '5.4 or later',
      list([
        found(read('.ci/package-check.mjs'), /typescript@~(\d+\.\d+)/),
        ...installed('typescript').map(majorMinor),
      ]),
    ],
    [
      'PostgreSQL',
      '13 or later',
      `${list(
        found(run, /^postgres_versions=\(([^)]+)\)/m)
          .split(' ')
          .map(major),
      )}, and the one installed`,
    ],
    ['Redis', '7', 'the one installed'],
    ...peers,
    ['`ioredis`', '5', list(installed('ioredis'))],
  ]
  const lines = [['', 'works with', 'tried'], ['---', '---', '---'], ...rows].map(
    (row) => `| ${row.join(' | ')} |`,
  )
  const config = await prettier.resolveConfig(join(root, PAGE))
  return `\n${await prettier.format(lines.join('\n'), { ...config, parser: 'markdown' })}\n`
}

function found(text, pattern) {
  const match = pattern.exec(text)
  if (!match) throw new Error(`${PAGE}: ${pattern} is found nowhere: correct .ci/docs/compatibility.mjs`)
  return match[1]
}

/** `^4.18.0 || ^5.0.0` in words. */
function ranges(range) {
  return range
    .split(' || ')
    .map((part) => `${/\d+(?:\.[1-9]\d*)?/.exec(part)[0]}${part.startsWith('>=') ? ' or later' : ''}`)
    .join(', ')
}

function list(versions) {
  return versions.join(', ')
}

function major(version) {
  return version.split('.')[0]
}

function majorMinor(version) {
  return version.split('.').slice(0, 2).join('.')
}
