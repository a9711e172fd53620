import { readFileSync } from 'node:fs'

interface LockedPackage {
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

it('package-lock.json has every optional dependency, of all platforms, or npm ci refuses it', () => {
  const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as {
    packages: Readonly<Record<string, LockedPackage>>
  }
  const missing = Object.entries(packages).flatMap(([path, { optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies)
      .filter((name) => !placesOf(name, path).some((place) => place in packages))
      .map((name) => `${path}: ${name}`),
  )
  expect(missing).toEqual([])
})

/** Where Node looks for a package that another one, at `path`, loads. */
function placesOf(name: string, path: string): string[] {
  const folders = path.split(/(?<=^|\/)node_modules\//)
  const above = folders.slice(1).map((_, index) => folders.slice(0, index + 1).join('node_modules/'))
  return [...above, path === '' ? '' : `${path}/`].map((folder) => `${folder}node_modules/${name}`)
}
