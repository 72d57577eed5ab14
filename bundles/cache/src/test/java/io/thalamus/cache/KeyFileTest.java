// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cache;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;

import java.nio.charset.StandardCharsets;
import java.util.Random;
import java.util.concurrent.ThreadLocalRandom;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.junit.jupiter.api.Test;

/** The code of the key file beside that of the JDK's own provider. */
class KeyFileTest {
  private static final int KEY = 32;

  @Test
  void theCodeIsThatOfTheStandard() throws Exception {
    long seed = ThreadLocalRandom.current().nextLong();
    Random random = new Random(seed);
    for (int round = 0; round < 200; round++) {
      byte[] key = new byte[KEY];
      byte[] first = new byte[random.nextInt(200)];
      byte[] second = new byte[random.nextInt(200)];
      random.nextBytes(key);
      random.nextBytes(first);
      random.nextBytes(second);
      Mac mac = Mac.getInstance("HmacSHA256");
      mac.init(new SecretKeySpec(key, "HmacSHA256"));
      mac.update("a name\0".getBytes(StandardCharsets.UTF_8));
      mac.update(first);
      assertArrayEquals(
          mac.doFinal(second), KeyFile.mac(key, "a name", first, second), () -> "seed " + seed);
    }
  }
}
