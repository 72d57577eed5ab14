// SPDX-License-Identifier: Apache-2.0
package io.thalamus.model;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.SplittableRandom;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** Names of extensions, held against a regular expression. */
class ExtensionsTest {
  private static final Pattern NAME = Pattern.compile("[a-z0-9_]+(\\.[a-z0-9_]+)+");
  private static final String CHARACTERS = "..az09_A-/`{ \u00e4";

  @Test
  void namesAreLowerCaseReverseDomainNames() {
    long seed = Long.getLong("thalamus.seed", 1);
    System.out.println("names: seed " + seed);
    SplittableRandom random = new SplittableRandom(seed);
    for (int i = 0; i < 20_000; i++) {
      StringBuilder name = new StringBuilder();
      int allowed = random.nextInt(10) == 0 ? CHARACTERS.length() : 7;
      for (int length = random.nextInt(8); length > 0; length--) {
        name.append(CHARACTERS.charAt(random.nextInt(allowed)));
      }
      assertEquals(
          NAME.matcher(name).matches(), Extensions.isName(name.toString()), name::toString);
    }
  }
}
