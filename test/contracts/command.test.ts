// The suite of commands finds credentials in what a command prints.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { temporaryFolder } from '../helpers.ts'
import { findCredentials } from './command.ts'

it.each([
  ['the token of the gateway', 'Signed in with the-token-of-the-gateway.', ['gateway.auth.token']],
  ['the secret of a channel', '{"config":{"secret":"the-secret-of-shop"}}', ['channels.shop.secret']],
  ['no credential', 'token  set', []],
])('finds a command that prints %s', (_what, printed, found) => {
  const dir = temporaryFolder()
  const document = {
    gateway: { auth: { token: 'the-token-of-the-gateway' } },
    channels: { shop: { secret: 'the-secret-of-shop', token: 'set' } },
  }
  writeFileSync(join(dir, 'gateway.json5'), JSON.stringify(document))
  expect(findCredentials(printed, { dir })).toEqual(found)
})
