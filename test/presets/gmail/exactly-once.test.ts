// Each mail is accepted exactly once: after restarts, kills, a lost history, and by several gateways on one store.
import { Client } from 'pg'
import { describe, expect, inject, it } from 'vitest'
import type { GmailDouble } from '../../doubles/gmail/gmail.ts'
import { temporaryFolder } from '../../helpers.ts'
import { createDatabase, query } from '../../postgres.ts'
import { closeAtEnd } from '../../share.ts'
import { startDatabaseProxy } from '../../store/postgres/database-proxy.ts'
import { push, spawnWatching, startDouble, startWatching, until, untilMails, untilState } from './watching.ts'

const readsOf = (gmail: GmailDouble, id: string): number =>
  gmail.calls.filter((call) => call === `GET /gmail/v1/users/me/messages/${id}`).length

describe('each mail is accepted exactly once', () => {
  it('when Gmail has no history any more', async () => {
    const gmail = await startDouble()
    const dir = temporaryFolder()
    const first = await startWatching(gmail, { dir })
    const ids = [gmail.addMail(), gmail.addMail()]
    await push(first, gmail)
    await untilMails(first, ids)
    await first.gateway.close()
    ids.push(gmail.addMail(), gmail.addMail())
    gmail.expireHistory()
    const second = await startWatching(gmail, { dir })
    await untilMails(second, ids)
    expect(second.logged.filter((line) => line.includes('has no history'))).toHaveLength(1)
    ids.push(gmail.addMail())
    await push(second, gmail)
    await untilMails(second, ids)
  })

  it('when the gateway restarts in the middle of several mails', async () => {
    const gmail = await startDouble()
    const dir = temporaryFolder()
    const first = await startWatching(gmail, { dir })
    gmail.failNext('/messages/m1003', { status: 503 }, 100)
    const ids = Array.from({ length: 5 }, () => gmail.addMail())
    await push(first, gmail)
    await untilMails(first, ids.slice(0, 2))
    await first.gateway.close()
    gmail.recover()
    await untilMails(await startWatching(gmail, { dir }), ids)
    expect(ids.slice(0, 2).map((id) => readsOf(gmail, id))).toEqual([1, 1])
  })

  it('when the gateway is killed while it reads several mails', async () => {
    const gmail = await startDouble()
    const dir = temporaryFolder()
    // Google's libraries log tokens with this variable, unless they are told not to.
    const first = await spawnWatching(gmail, { dir, env: { GOOGLE_SDK_NODE_LOGGING: '*' } })
    gmail.failNext('/messages/m1003', { isHeld: true })
    const ids = Array.from({ length: 5 }, () => gmail.addMail())
    await push(first, gmail)
    await until(() => expect(readsOf(gmail, 'm1003')).toBe(1))
    await first.end('SIGKILL')
    expect(first.log.join()).not.toMatch(/access-\d|Bearer/)
    await untilMails(await startWatching(gmail, { dir }), ids)
  })
})

describe('with several gateways on one store, each mail is accepted exactly once', () => {
  const prepare = async () => {
    const database = await createDatabase(inject('postgresUrl'))
    closeAtEnd(database.remove)
    return { gmail: await startDouble(), url: database.url, sections: { storage: { url: database.url } } }
  }

  it('when a gateway is killed after it has accepted a mail and before it has noted that', async () => {
    const { gmail, url, sections } = await prepare()
    const first = await spawnWatching(gmail, { dir: temporaryFolder(), sections })
    const lock = new Client({ connectionString: url })
    await lock.connect()
    await lock.query(`BEGIN; SELECT * FROM state WHERE owner = 'preset:gmail' FOR UPDATE`)
    const ids = [gmail.addMail(), gmail.addMail()]
    await push(first, gmail)
    await untilMails(first, ids.slice(0, 1))
    await first.end('SIGKILL')
    await lock.end()
    // As if the time of the leases had passed.
    await query(url, 'UPDATE lease SET until = 0')
    await untilMails(await startWatching(gmail, { sections }), ids)
    expect(ids.map((id) => readsOf(gmail, id))).toEqual([2, 1])
  })

  it('and read by one gateway, whichever gets the push; another one takes over', async () => {
    const { gmail, sections } = await prepare()
    const one = await startWatching(gmail, { sections })
    const other = await startWatching(gmail, { sections, state: 'standby' })
    const ids = [gmail.addMail()]
    await push(other, gmail)
    await untilMails(other, ids)
    await one.gateway.close()
    await untilState(other, 'connected')
    ids.push(gmail.addMail())
    await push(other, gmail)
    await untilMails(other, ids)
    expect(ids.map((id) => readsOf(gmail, id))).toEqual([1, 1])
  })

  it('and soon, also when the gateway that gets the push has just lost its connections', async () => {
    const { gmail, url, sections } = await prepare()
    const proxy = await startDatabaseProxy(url)
    closeAtEnd(proxy.close)
    const one = await startWatching(gmail, { sections })
    const other = await startWatching(gmail, { sections: { storage: { url: proxy.url } }, state: 'standby' })
    const ids = [gmail.addMail()]
    proxy.reset()
    await push(other, gmail)
    await untilMails(one, ids)
  })
})
