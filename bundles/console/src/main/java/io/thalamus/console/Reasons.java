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

  /**
   * Returns why a file could not be written. If its directory is missing, the system reports a
   * missing file.
   */
  public static String ofWriting(IOException e) {
    return e instanceof NoSuchFileException ? "its directory does not exist" : of(e);
  }

  /** The exceptions of {@code java.nio.file} often carry nothing but the path. */
  public static String of(IOException e) {
    return switch (e) {
      case NoSuchFileException _ -> "there is no such file";
      case FileAlreadyExistsException _ -> "there is a file of that name";
      case AccessDeniedException _ -> "access is denied";
      case NotDirectoryException _ -> "it is not a directory";
      case FileSystemException f when f.getReason() != null -> inWords(f.getReason());
      default -> e.getMessage() == null ? e.getClass().getSimpleName() : inWords(e.getMessage());
    };
  }

  /** Returns the first line of a message; of those that speak of the system, a plainer one. */
  private static String inWords(String message) {
    return switch (message) {
      case "Is a directory" -> "it is a directory";
      case "zip END header not found" -> "it is no jar, or was cut short";
      default -> message.lines().findFirst().orElse("");
    };
  }
}
