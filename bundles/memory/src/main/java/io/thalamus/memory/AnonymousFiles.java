// SPDX-License-Identifier: Apache-2.0
package io.thalamus.memory;

import io.thalamus.memory.SharedMemory.BackingFile;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.UUID;

/**
 * Files without a name, which the kernel frees when the last process that maps them ends, however
 * it ends.
 *
 * <p>A file is created in the memory file system and unlinked at once; other processes reach it
 * through the owner's {@code /proc/PID/fd}. This needs no native call, so that a program which only
 * computes never pays for linking one.
 */
final class AnonymousFiles {
  private static final Path MEMORY_FILE_SYSTEM = Path.of("/dev/shm");

  private AnonymousFiles() {}

  static BackingFile create(long size) {
    Path directory =
        Files.isWritable(MEMORY_FILE_SYSTEM)
            ? MEMORY_FILE_SYSTEM
            : Path.of(System.getProperty("java.io.tmpdir"));
    Path path = directory.resolve("thalamus-" + UUID.randomUUID());
    try {
      FileChannel channel =
          FileChannel.open(
              path,
              StandardOpenOption.CREATE_NEW,
              StandardOpenOption.READ,
              StandardOpenOption.WRITE);
      Files.delete(path);
      return new BackingFile(channel, path, 0, true);
    } catch (IOException e) {
      throw new SharedMemoryException(
          "cannot allocate " + size + " bytes in " + directory + ": " + IoMessages.reason(e), e);
    }
  }

  /** The open file descriptor of this process that the unlinked path belongs to. */
  static Path shareablePath(Path unlinked) {
    Path own = Path.of("/proc", Long.toString(ProcessHandle.current().pid()), "fd");
    String wanted = unlinked + " (deleted)";
    try (DirectoryStream<Path> descriptors = Files.newDirectoryStream(own)) {
      for (Path descriptor : descriptors) {
        if (isLinkTo(descriptor, wanted)) {
          return descriptor;
        }
      }
    } catch (IOException e) {
      throw new SharedMemoryException(
          "cannot list the open files of this process: " + IoMessages.reason(e), e);
    }
    throw new SharedMemoryException("the memory is closed, or this system has no /proc", null);
  }

  private static boolean isLinkTo(Path descriptor, String wanted) {
    try {
      return Files.readSymbolicLink(descriptor).toString().equals(wanted);
    } catch (IOException e) {
      // A descriptor may be closed by another thread while the directory is listed.
      return false;
    }
  }
}
