// Samples of UptimeRobot's alerts: a monitor that is down, and up again.
import type { SampleRequest, SampleSeed } from 'svc-gateway/plugin'

export const createSamples = ({ now }: SampleSeed): SampleRequest[] => {
  const monitor = {
    monitorID: '789',
    monitorURL: 'https://shop.example.com',
    monitorFriendlyName: 'Shop',
    alertDateTime: String(Math.floor(Date.parse(now) / 1000)),
  }
  return [
    {
      name: 'down',
      payload: { ...monitor, alertType: '1', alertTypeFriendlyName: 'Down', alertDetails: 'Connection Timeout' },
    },
    {
      name: 'up',
      payload: { ...monitor, alertType: '2', alertTypeFriendlyName: 'Up', alertFriendlyDuration: '5 min' },
    },
  ]
}
