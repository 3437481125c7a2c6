// Tests a thousand reloads under load.
import { expect, it } from 'vitest'
import { reloadUnderLoad } from '../reliability/reloads.ts'

it('loses no request in a thousand reloads', async () => {
  expect(await reloadUnderLoad(1000)).toEqual([200])
})
