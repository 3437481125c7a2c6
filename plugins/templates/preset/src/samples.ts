// Webhooks to try the preset with: `svc-gateway trigger plugin-name --sample`.
import type { SampleRequest, SampleSeed } from 'svc-gateway/plugin'

export const createSamples = ({ id }: SampleSeed): SampleRequest[] => [
  {
    name: 'order-created',
    payload: {
      id,
      type: 'order.created',
      order: { number: 'A-1042', total: 59.9, currency: 'EUR', note: 'Please deliver to the back door.' },
    },
  },
  {
    name: 'order-cancelled',
    payload: { id, type: 'order.cancelled', order: { number: 'A-1042', total: 59.9, currency: 'EUR' } },
  },
]
