import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import prettier from 'prettier'
import { manifest, read, root } from './project.mjs'

const PAGE = 'docs/compatibility.md'
const BETWEEN_MARKERS = /(?<=<!-- compatibility -->\n)[^]*?(?=<!-- \/compatibility -->)/

/** docs/compatibility.md has the versions that .ci/run tries: those that it downloads, and those of package-lock.json. */
export async function checkCompatibility() {
  if (BETWEEN_MARKERS.exec(read(PAGE))?.[0] === (await compatibilityTable())) return []
  return [`${PAGE}: the table is not what .ci/run tries: run node .ci/docs-check.mjs --write`]
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
  const installed = (name) => packages[`node_modules/${name}`].version
  const framework = (title, name) => [
    title,
    ranges(manifest.peerDependencies[name]),
    list([installed(`${name}4`), installed(name)]),
  ]
  const peer = (name) => [`\`${name}\``, ranges(manifest.peerDependencies[name]), installed(name)]
  const run = read('.ci/run')
  const rows = [
    ['Node', ranges(manifest.engines.node), list(found(run, /^for version in ([\d ]+);/m).split(' '))],
    framework('Express', 'express'),
    framework('Fastify', 'fastify'),
    [
      'TypeScript',
      '5.4 or later',
      list([
        found(read('.ci/package-check.mjs'), /typescript@~(\d+\.\d+)/),
        majorMinor(installed('typescript')),
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
    peer('pg'),
    peer('redis'),
    ['`ioredis`', '5', installed('ioredis')],
    peer('bullmq'),
    peer('prom-client'),
    peer('@opentelemetry/api'),
    peer('@photostructure/sqlite'),
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
