// SPDX-License-Identifier: Apache-2.0
package io.thalamus.memory.files;

import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;

/** Messages for exceptions of {@code java.nio.file}, which carry the bare path. Stateless. */
public final class IoMessages {
  private IoMessages() {}

  /** Returns why a file could not be used, without its name. */
  public static String reason(IOException e) {
    return switch (e) {
      case NoSuchFileException _ -> "there is no such file";
      case AccessDeniedException _ -> "access is denied";
      case FileAlreadyExistsException _, NotDirectoryException _ ->
          "a file stands in the place of a directory";
      case FileSystemException failure when failure.getReason() != null -> failure.getReason();
      default -> e.getMessage() == null ? e.getClass().getSimpleName() : e.getMessage();
    };
  }
}
