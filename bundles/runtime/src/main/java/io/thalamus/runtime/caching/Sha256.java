// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.caching;

import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;

/** The digest that NNAPI's tokens are made with. Stateless. */
final class Sha256 {
  private Sha256() {}

  static MessageDigest create() {
    try {
      return MessageDigest.getInstance("SHA-256");
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every Java platform has SHA-256", e);
    }
  }
}
