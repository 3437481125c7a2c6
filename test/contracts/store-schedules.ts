// The store contract: schedules are durable, and each of their times fires once.
import { describe, expect, it } from 'vitest'
import type { OpenStore } from './open-store.ts'
import { claim, newDelivery, newRun, newSchedule, start } from './store-samples.ts'

const roomy = { at: start, most: 100 }

export function schedulesContract(opened: OpenStore): void {
  describe('schedules', () => {
    it('are stored durably, by agent, in the order of adding', async () => {
      const cron = newSchedule({ timing: { kind: 'cron', expression: '0 9 * * 1-5', timezone: 'Europe/Berlin' } })
      const [second, other] = [newSchedule(), newSchedule({ agentId: 'other' })]
      for (const schedule of [cron, second, other]) expect(await opened.store.addSchedule(schedule, roomy)).toBe(true)
      await opened.reopen()
      expect(await opened.store.listAgentSchedules('main')).toEqual([
        { ...cron, lastAt: null, createdAt: start },
        { ...second, lastAt: null, createdAt: start },
      ])
      expect(await opened.store.listAgentSchedules('other')).toHaveLength(1)
    })

    it('are limited per agent, also when added concurrently', async () => {
      const { store } = opened
      const added = await Promise.all(
        Array.from({ length: 9 }, () => store.addSchedule(newSchedule(), { at: start, most: 3 })),
      )
      expect(added.filter(Boolean)).toHaveLength(3)
      expect(await store.addSchedule(newSchedule({ agentId: 'other' }), { at: start, most: 3 })).toBe(true)
    })

    it('can be removed only by their agent', async () => {
      const { store } = opened
      const schedule = newSchedule()
      await store.addSchedule(schedule, roomy)
      expect(await store.removeSchedule(schedule.id, 'other')).toBe(false)
      expect(await store.removeSchedule(schedule.id, 'main')).toBe(true)
      expect(await store.removeSchedule(schedule.id, 'main')).toBe(false)
    })

    it('are listed when due, the oldest first, with the next time', async () => {
      const { store } = opened
      expect(await store.getNextScheduleAt()).toBeUndefined()
      const [late, early, future] = [start + 20, start + 10, start + 30].map((nextAt) => newSchedule({ nextAt }))
      for (const schedule of [late!, early!, future!]) await store.addSchedule(schedule, roomy)
      expect(await store.getNextScheduleAt()).toBe(start + 10)
      expect((await store.listDueSchedules(start + 20, 9)).map(({ id }) => id)).toEqual([early!.id, late!.id])
      expect(await store.listDueSchedules(start + 20, 1)).toHaveLength(1)
    })

    it('fire once per time, however many try', async () => {
      const { store } = opened
      const { id: scheduleId } = await add(opened)
      const firing = { scheduleId, due: start, nextAt: start + 60_000 }
      const tries = await Promise.all(
        Array.from({ length: 8 }, () => store.accept({ at: start, firing, runs: [newRun({ kind: 'schedule' })] })),
      )
      expect(tries.map(({ outcome }) => outcome).toSorted()).toEqual([
        'accepted',
        ...Array.from({ length: 7 }, () => 'conflict'),
      ])
      expect(await claim(store)).toHaveLength(1)
      expect(await store.listAgentSchedules('main')).toMatchObject([{ lastAt: start, nextAt: start + 60_000 }])
    })

    it('get a new next time, unless they have fired meanwhile', async () => {
      const { store } = opened
      const { id, nextAt } = await add(opened)
      expect(await store.moveSchedule(id, { from: nextAt, to: nextAt - 5 })).toBe(true)
      expect(await store.moveSchedule(id, { from: nextAt, to: nextAt - 9 })).toBe(false)
      expect(await store.listAgentSchedules('main')).toMatchObject([{ id, nextAt: nextAt - 5, lastAt: null }])
    })

    it('are deleted after their last time', async () => {
      const { store } = opened
      const { id: scheduleId } = await add(opened)
      const last = { at: start, firing: { scheduleId, due: start, nextAt: null } }
      expect(await store.accept(last)).toEqual({ outcome: 'accepted' })
      expect(await store.listAgentSchedules('main')).toEqual([])
      expect(await store.accept(last)).toEqual({ outcome: 'conflict' })
    })
  })

  describe('a delivery without a run', () => {
    it('is added to the outbox when it is accepted', async () => {
      const delivery = newDelivery({ runId: '' })
      await opened.store.accept({ at: start, deliveries: [delivery] })
      await opened.reopen()
      expect(await opened.store.claimDeliveries({ owner: 'me', max: 9, at: start, leaseMs: 1000 })).toMatchObject([
        { id: delivery.id },
      ])
    })
  })
}

async function add({ store }: OpenStore) {
  const schedule = newSchedule()
  await store.addSchedule(schedule, roomy)
  return schedule
}
