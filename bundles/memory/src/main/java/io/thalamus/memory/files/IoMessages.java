// SPDX-License-Identifier: Apache-2.0
package io.thalamus.memory;

import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.NoSuchFileException;

/** Messages for exceptions of {@code java.nio.file}, which carry the bare path. Stateless. */
final class IoMessages {
  private IoMessages() {}

  static String reason(IOException e) {
    return switch (e) {
      case NoSuchFileException _ -> "there is no such file";
      case AccessDeniedException _ -> "access is denied";
      default -> e.getMessage() == null ? e.getClass().getSimpleName() : e.getMessage();
    };
  }
}
