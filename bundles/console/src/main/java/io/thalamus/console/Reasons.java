// SPDX-License-Identifier: Apache-2.0
package io.thalamus.console;

import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;

/** Reasons why a file could not be read or written, in words. Stateless. */
public final class Reasons {
  private Reasons() {}

  /** The exceptions of {@code java.nio.file} often carry nothing but the path. */
  public static String of(IOException e) {
    return switch (e) {
      case NoSuchFileException _ -> "there is no such file";
      case FileAlreadyExistsException _ -> "there is a file of that name";
      case AccessDeniedException _ -> "access is denied";
      case NotDirectoryException _ -> "it is not a directory";
      case FileSystemException f when f.getReason() != null -> f.getReason();
      default -> e.getMessage() == null ? e.getClass().getSimpleName() : firstLine(e.getMessage());
    };
  }

  private static String firstLine(String message) {
    return message.lines().findFirst().orElse("");
  }
}
