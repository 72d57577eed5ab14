// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cache;

import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;

/** The hash of everything here. Stateless. */
final class Hashes {
  private Hashes() {}

  static MessageDigest sha256() {
    try {
      return MessageDigest.getInstance("SHA-256");
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException(e); // every JDK has it
    }
  }
}
