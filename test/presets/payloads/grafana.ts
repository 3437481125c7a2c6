// Payloads of Grafana, written by hand after its documentation.
import { one, type Samples } from '../sample.ts'
import { alert, group } from './alertmanager.ts'

export const grafana: Samples = {
  told: [
    one('one that fires', {
      ...group(),
      title: '[FIRING:1] DiskFull (db1)',
      state: 'alerting',
      message: '**Firing**',
      orgId: 1,
      alerts: [
        alert({
          values: { A: 97 },
          valueString: "[ var='A' value=97 ]",
          dashboardURL: 'https://g.example.com/d/1',
          panelURL: 'https://g.example.com/d/1?viewPanel=2',
          silenceURL: 'https://g.example.com/silence',
        }),
      ],
    }),
    one('one that is over', {
      ...group({ status: 'resolved', alerts: [alert({ status: 'resolved', endsAt: '2030-01-31T10:00:00Z' })] }),
      title: '[RESOLVED] DiskFull',
      state: 'ok',
      message: '',
    }),
    one('one that is over, with the state of legacy alerting', {
      ...group({ status: 'resolved', alerts: [alert({ status: 'resolved' })] }),
      title: '[RESOLVED] DiskFull',
      state: 'alerting',
      message: '',
    }),
    one('one of version 7', {
      title: '[Alerting] Load',
      ruleId: 1,
      ruleName: 'Load',
      state: 'alerting',
      evalMatches: [{ value: 100, metric: 'High value', tags: null }],
      ruleUrl: 'http://g.example.com/alert/1',
      message: 'Too much',
      orgId: 0,
      dashboardId: 1,
      panelId: 1,
      tags: {},
    }),
    one('many matches of version 7', {
      title: '[No Data] Load\nState: ok',
      ruleId: 1,
      ruleName: 'Load',
      state: 'no_data',
      evalMatches: Array.from({ length: 22 }, (_, n) => ({
        value: n === 0 ? null : n,
        metric: `host${n}\nall is well`,
      })),
      message: 'Nothing comes.\nLook at the exporter.',
    }),
    one('missing data of a rule', {
      ...group({ commonLabels: { alertname: 'DatasourceNoData', rulename: 'DiskFull' } }),
      title: '[FIRING:1] DatasourceNoData',
      alerts: [alert({ labels: { alertname: 'DatasourceNoData', rulename: 'DiskFull' }, valueString: '' })],
    }),
    one('alerts without a title', group()),
    one('a title that is a number', { title: 5, evalMatches: [5] }),
    one('one without anything', { title: 'Hello' }),
  ],
  silent: [],
  wrong: [
    one('nothing', {}),
    one('an empty title', { title: '' }),
    one('no alerts', { alerts: [] }),
    one('alerts that are none', { alerts: 'x' }),
    one('a list', []),
  ],
}
