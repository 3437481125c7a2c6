// Tests a thousand reloads under load, and two hundred with little memory.
import { expect, it, onTestFinished } from 'vitest'
import { spawnGateway, temporaryFolder, writeConfig } from '../helpers.ts'
import { reloadUnderLoad } from '../reliability/reloads.ts'

it('loses no request in a thousand reloads', async () => {
  expect(await reloadUnderLoad(1000)).toEqual([200])
})

it('needs no more memory after two hundred reloads', async () => {
  const gateway = await spawnGateway(writeConfig(temporaryFolder()), { nodeOptions: ['--max-old-space-size=96'] })
  onTestFinished(() => void gateway.process.kill('SIGKILL'))
  const reloads = () => gateway.log.filter((line) => line.includes('was reloaded')).length
  for (let done = 0; done < 200; done++) {
    gateway.process.kill('SIGHUP')
    await expect.poll(reloads, { interval: 10 }).toBe(done + 1)
  }
  expect(await gateway.end('SIGTERM')).toBe(0)
})
