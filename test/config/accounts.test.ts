// The accounts of a channel.
import { expect, it } from 'vitest'
import { resolveAccounts } from '../../core/config/accounts.ts'
import { extensions, resolveText } from './document.ts'

const accountsOf = (section: string) => {
  const { config } = resolveText(`{ channels: { pager: ${section} } }`)
  const channel = extensions.channels.get('pager')
  const settings = config.channels['pager']
  if (!channel || !settings) throw new Error('the pager is not configured')
  return resolveAccounts(settings, channel.config)
}

it('returns the section itself if it lists no accounts', () => {
  expect(accountsOf("{ key: 'shared', defaultTo: '1', allowFrom: ['*'] }")).toEqual([
    { id: 'default', settings: { key: 'shared', retries: 3 }, defaultTo: '1' },
  ])
})

it('merges defaults, the section and the account', () => {
  expect(
    accountsOf(
      "{ key: 'shared', retries: 5, defaultTo: '1', accounts: { a: { retries: 7 }, b: { key: 'own-key', " +
        "defaultTo: '2' } } }",
    ),
  ).toEqual([
    { id: 'a', settings: { key: 'shared', retries: 7 }, defaultTo: '1' },
    { id: 'b', settings: { key: 'own-key', retries: 5 }, defaultTo: '2' },
  ])
})
