/**
 * SQL that makes a role without login, unless it exists. Roles belong to the server, so another database's migration or
 * an administrator may have made it.
 */
export function makeRole(role: string): string {
  return `
    do $$ begin
      if not exists (select from pg_roles where rolname = '${role}') then
        create role ${role} nologin;
      end if;
    exception
      when duplicate_object or unique_violation then null;
      when insufficient_privilege then
        raise exception 'the account % may not create the role ${role}: let an administrator create the roles, as SECURITY.md says',
          current_user using errcode = 'insufficient_privilege';
    end $$;
  `;
}

/** SQL that lets a role become another, unless an administrator has granted that already. */
export function letBecome(member: string, role: string): string {
  return `
    do $$ begin
      if not pg_has_role(${member}, '${role}', 'SET') then
        execute format('grant ${role} to %I', ${member});
      end if;
    end $$;
  `;
}
