// A thousand changes of the configuration under load.
import { expect, it } from 'vitest'
import { reloadUnderLoad } from '../reliability/reloads.ts'

it('loses no request in a thousand changes of the configuration', async () => {
  expect(await reloadUnderLoad(1000)).toEqual([200])
})
