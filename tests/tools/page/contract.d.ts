// Written by python -m tests.tools.page_contract.
type Fault = [code: string, text: string, clause: string];
type Item = [kind: string, name: string, value: Record<string, unknown> | null];
type Row = {
  number: number;
  time: number;
  lane: string;
  kind: string;
  label: string;
  detail: string;
  size: number;
  partner: number | null;
  milliseconds: number | null;
  channel: string;
  faults: Fault[];
  level: string;
  at: number | null;
};
type Question = {
  number: number;
  method: string;
  began: number;
  ended: number | null;
};
type Span = {
  number: number;
  method: string;
  subject: string;
  began: number;
  channel: string;
  call: string;
  at: number | null;
  end: number | null;
  ended: number | null;
  state: string;
  progress: number[];
  questions: Question[];
  faults: Fault[];
  version: number;
};
