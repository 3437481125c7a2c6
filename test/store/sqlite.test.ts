// The SQLite store keeps the contract of every store.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openStore } from '../../core/store/open.ts'
import { storeContract } from '../contracts/store.ts'
storeContract(async () => {
  const dir = await mkdtemp(join(tmpdir(), 'store-'))
  return {
    open: () => openStore({ url: 'sqlite:state/gateway.db', dir, log: { debug() {}, info() {}, warn() {}, error() {} } }),
    remove: () => rm(dir, { recursive: true }),
  }
})
