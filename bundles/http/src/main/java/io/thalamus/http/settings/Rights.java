// SPDX-License-Identifier: Apache-2.0
package io.thalamus.http.settings;

import io.thalamus.http.Access;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Base64;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** The rights of those who have a token or a certificate. Immutable. */
public final class Rights {
  /**
   * A certificate's common name is distinguished from the name of a token by what stands before.
   */
  private static final String SUBJECT = "subject:";

  /**
   * One who asks.
   *
   * @param name empty if it is unknown
   */
  public record Client(Optional<String> name, Set<Access> allowed) {}

  /** By the digest of the token, so that the time of a look-up tells nothing about tokens. */
  private final Map<ByteBuffer, Client> byToken = new HashMap<>();

  private final Map<String, Client> bySubject = new HashMap<>();
  private final Set<Access> everybody = EnumSet.of(Access.OPEN);

  /**
   * Reads the settings.
   *
   * @throws IllegalArgumentException for an entry that is neither NAME:TOKEN nor subject:NAME
   */
  public Rights(HttpSettings settings) {
    if (settings.readTokens().length == 0) {
      everybody.add(Access.READ);
      if (settings.inferTokens().length == 0) {
        everybody.add(Access.INFER);
        if (settings.manageTokens().length == 0) {
          everybody.add(Access.MANAGE);
        }
      }
    }
    add(settings.readTokens(), Access.READ);
    add(settings.inferTokens(), Access.INFER);
    add(settings.manageTokens(), Access.MANAGE);
  }

  private void add(String[] entries, Access most) {
    Set<Access> allowed = EnumSet.copyOf(everybody);
    allowed.addAll(EnumSet.range(Access.OPEN, most));
    for (String entry : entries) {
      int colon = entry.indexOf(':');
      if (colon < 1 || colon == entry.length() - 1) {
        throw new IllegalArgumentException(
            "an entry for tokens is NAME:TOKEN or subject:NAME, which one of those for "
                + most.name().toLowerCase(Locale.ROOT)
                + " is not");
      }
      String rest = entry.substring(colon + 1);
      if (entry.startsWith(SUBJECT)) {
        bySubject.put(rest, new Client(Optional.of(rest), allowed));
      } else {
        byToken.put(digest(rest), new Client(Optional.of(entry.substring(0, colon)), allowed));
      }
    }
  }

  /**
   * Returns the client of a request; empty if its token is wrong.
   *
   * @param authorization the header's value; null without one
   * @param subject the common name in a trusted certificate; null without one
   */
  public Optional<Client> client(String authorization, String subject) {
    if (authorization != null && !byToken.isEmpty()) {
      return token(authorization).map(token -> byToken.get(digest(token)));
    }
    if (subject != null) {
      Client known = bySubject.get(subject);
      return Optional.of(known != null ? known : new Client(Optional.of(subject), everybody));
    }
    return Optional.of(new Client(Optional.empty(), everybody));
  }

  /** Returns the token of {@code Bearer TOKEN}, or the password of {@code Basic}. */
  private static Optional<String> token(String authorization) {
    String[] words = authorization.strip().split(" +", 2);
    if (words.length == 2 && words[0].equalsIgnoreCase("bearer")) {
      return Optional.of(words[1]);
    }
    if (words.length == 2 && words[0].equalsIgnoreCase("basic")) {
      try {
        String pair = new String(Base64.getDecoder().decode(words[1]), StandardCharsets.UTF_8);
        return Optional.of(pair.substring(pair.indexOf(':') + 1));
      } catch (IllegalArgumentException notBase64) {
        return Optional.empty();
      }
    }
    return Optional.empty();
  }

  private static ByteBuffer digest(String token) {
    try {
      return ByteBuffer.wrap(
          MessageDigest.getInstance("SHA-256").digest(token.getBytes(StandardCharsets.UTF_8)));
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every Java platform has SHA-256", e);
    }
  }
}
