import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState, type SyntheticEvent } from 'react';
import { api, dataOf } from '../api/client.js';
import { liveChatSettingsQuery } from '../api/queries.js';
import type { LiveChatSettings } from '../api/resources.js';
import { useLack } from '../session/use-session.js';
import { words } from '../session/wording.js';
import { durationText } from '../time/time-text.js';
import { Button } from '../ui/button.js';
import { Checkbox, TextArea, TextField } from '../ui/field.js';
import { FailureNotice } from '../ui/notice.js';
import { toastDone } from '../ui/toast-queue.js';
import {
  changedSettings,
  isChanged,
  settingsDraft,
  settingsProblems,
  updatedDraft,
  type SettingsDraft,
} from './settings-draft.js';

interface SettingsFormProps {
  readonly orgId: string;
  readonly settings: LiveChatSettings;
}

/** Sets when a waiting chat raises an alert, and who gets it. */
export function SettingsForm({ orgId, settings }: SettingsFormProps) {
  const [initial, setInitial] = useState(settings);
  const [draft, setDraft] = useState(() => settingsDraft(initial));
  const [read, setRead] = useState(settings);
  if (read !== settings) {
    setRead(settings);
    // What others changed is not a change of this form.
    setInitial(settings);
    setDraft(updatedDraft(draft, settingsDraft(initial), settings));
  }
  const lack = useLack('settings:write');
  const saving = useSaveSettings(orgId);
  const problems = settingsProblems(draft);
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    if (saving.isPending || Object.keys(problems).length > 0) return;
    saving.mutate(
      { draft, initial },
      {
        onSuccess: (saved) => {
          setInitial(saved);
          setDraft((typed) => updatedDraft(typed, draft, saved));
        },
      },
    );
  };
  return (
    <form onSubmit={submit}>
      <fieldset className="stack" disabled={lack !== undefined}>
        <TextField
          label="First alert after (seconds)"
          type="number"
          min={1}
          inputMode="numeric"
          value={draft.first}
          onChange={(event) => setDraft({ ...draft, first: event.target.value })}
          hint={<>conversation.queued · {spelled(draft.first)}</>}
          error={problems.first}
        />
        <TextField
          label="Second alert after (seconds)"
          type="number"
          min={1}
          inputMode="numeric"
          value={draft.second}
          onChange={(event) => setDraft({ ...draft, second: event.target.value })}
          hint={<>conversation.queued.escalated · {spelled(draft.second)}</>}
          error={problems.second}
        />
        <Checkbox
          checked={draft.isMailed}
          onChange={(event) => setDraft({ ...draft, isMailed: event.target.checked })}
          hint="The events are emitted either way."
        >
          Alert staff too
        </Checkbox>
        <TextArea
          label="Staff addresses"
          rows={3}
          spellCheck={false}
          placeholder="mara@example.com"
          value={draft.emails}
          disabled={!draft.isMailed || lack !== undefined}
          onChange={(event) => setDraft({ ...draft, emails: event.target.value })}
          hint={`One in each line.${words().isOperated ? ' Mail needs SMTP_URL to be set.' : ''}`}
          error={problems.emails}
        />
        {saving.isError && <FailureNotice error={saving.error} />}
        <div className="form-actions">
          <Button
            type="submit"
            look="solid"
            busy={saving.isPending}
            disabled={!isChanged(draft, initial) || Object.keys(problems).length > 0}
          >
            Save
          </Button>
        </div>
      </fieldset>
    </form>
  );
}

function useSaveSettings(orgId: string) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: async ({ draft, initial }: { readonly draft: SettingsDraft; readonly initial: LiveChatSettings }) => {
      const current = await queries.query({ ...liveChatSettingsQuery(orgId), staleTime: 0 });
      const body = changedSettings(current, draft, initial);
      return dataOf(api.PUT('/api/v1/internal/orgs/{orgId}/live-chat-settings', { params: { path: { orgId } }, body }));
    },
    onSuccess: async (saved) => {
      // A read that is under way may be older than the save.
      await queries.cancelQueries(liveChatSettingsQuery(orgId));
      queries.setQueryData(liveChatSettingsQuery(orgId).queryKey, saved);
      toastDone('Thresholds saved', 'They count for chats that wait already, too.');
    },
  });
}

function spelled(seconds: string): string {
  const value = Number(seconds);
  if (!Number.isSafeInteger(value) || value <= 0) return '–';
  return value % 60 === 0 || value < 60 ? durationText(value) : `${Math.floor(value / 60)} min ${value % 60} s`;
}
