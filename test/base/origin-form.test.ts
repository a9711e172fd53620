import { originForm } from '../../src/base/origin-form.js'

it.each([
  ['/hooks?a=http://b/c', '/hooks?a=http://b/c'],
  ['http://a.example/hooks?a=1', '/hooks?a=1'],
  ['HTTPS://a.example:8443/hooks', '/hooks'],
  ['http://a.example', '/'],
  ['http://a.example?a=1', '/?a=1'],
  ['http://user@a.example/hooks', '/hooks'],
  ['//a.example/hooks', '//a.example/hooks'],
  ['http:/hooks', 'http:/hooks'],
  ['ftp://a.example/hooks', 'ftp://a.example/hooks'],
  ['*', '*'],
  ['', ''],
])('the origin form of %j is %j', (target, expected) => expect(originForm(target)).toBe(expected))
