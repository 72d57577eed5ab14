// SPDX-License-Identifier: Apache-2.0
package io.thalamus.memory;

import io.thalamus.memory.files.IoMessages;
import java.io.File;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.StringJoiner;
import java.util.UUID;

/**
 * Files without a name, which the kernel frees when the last process that maps them ends, however
 * it ends. Immutable.
 *
 * <p>A file is created in the first directory that has room for it, and unlinked at once; other
 * processes reach it through the owner's {@code /proc/PID/fd}. This needs no native call, so that a
 * program which only computes never pays for linking one.
 *
 * <p>All bytes are written when the file is created. A sparse file would be cheaper, but a page
 * that finds no room when it is first touched is an error in the middle of whatever touches it.
 */
final class AnonymousFiles {
  private static final Path TEMPORARY = Path.of(System.getProperty("java.io.tmpdir"));
  private static final Path IN_MEMORY =
      Path.of(System.getProperty(SharedMemory.DIRECTORY_PROPERTY, "/dev/shm"));

  /** Files in memory if possible. */
  static final AnonymousFiles SHARED = new AnonymousFiles(List.of(IN_MEMORY, TEMPORARY));

  /** Files on the disk if possible. */
  static final AnonymousFiles ON_DISK = new AnonymousFiles(List.of(TEMPORARY, IN_MEMORY));

  private static final int CHUNK = 1 << 16;

  /** Never written. */
  private static final byte[] ZEROS = new byte[CHUNK];

  private final List<Path> directories;

  /** Files in the first of these directories that has room. */
  AnonymousFiles(List<Path> directories) {
    this.directories = directories.stream().distinct().toList();
  }

  /** Returns the directories in which files are created, in the order of preference. */
  List<Path> directories() {
    return directories;
  }

  /**
   * Creates a file of zeros.
   *
   * @throws SharedMemoryException.Exhausted if no directory has room for it
   */
  BackingFile create(long size) {
    return create(size, AnonymousFiles::writeZeros);
  }

  /**
   * Creates a file with these bytes.
   *
   * @throws SharedMemoryException.Exhausted if no directory has room for it
   */
  BackingFile copy(MemorySegment contents) {
    return create(contents.byteSize(), (channel, _) -> write(channel, contents));
  }

  /** The contents of a new file. */
  @FunctionalInterface
  private interface Filler {
    void fill(FileChannel channel, long size) throws IOException;
  }

  private BackingFile create(long size, Filler filler) {
    StringJoiner failures = new StringJoiner("; ");
    IOException last = null;
    for (Path directory : directories) {
      try {
        return create(directory, size, filler);
      } catch (IOException e) {
        failures.add(directory + ": " + IoMessages.reason(e));
        last = e;
      }
    }
    throw new SharedMemoryException.Exhausted(
        "cannot allocate " + size + " bytes of shared memory (" + failures + ")", last);
  }

  private static BackingFile create(Path directory, long size, Filler filler) throws IOException {
    File place = directory.toFile();
    // Asked first, so that a request for far too much does not fill the directory for a moment.
    // A memory file system without a limit has a total of 0.
    if (place.getTotalSpace() > 0 && place.getUsableSpace() < size) {
      throw new IOException("only " + place.getUsableSpace() + " bytes are free");
    }
    Path path = directory.resolve("thalamus-" + UUID.randomUUID());
    FileChannel channel =
        FileChannel.open(
            path, StandardOpenOption.CREATE_NEW, StandardOpenOption.READ, StandardOpenOption.WRITE);
    boolean isFilled = false;
    try {
      Files.delete(path);
      filler.fill(channel, size);
      isFilled = true;
      return new BackingFile(channel, path, true);
    } finally {
      if (!isFilled) {
        channel.close();
      }
    }
  }

  private static void writeZeros(FileChannel channel, long size) throws IOException {
    for (long left = size; left > 0; ) {
      left -= channel.write(ByteBuffer.wrap(ZEROS, 0, (int) Math.min(CHUNK, left)));
    }
  }

  private static void write(FileChannel channel, MemorySegment contents) throws IOException {
    for (long at = 0; at < contents.byteSize(); ) {
      long length = Math.min(CHUNK, contents.byteSize() - at);
      at += channel.write(contents.asSlice(at, length).asByteBuffer());
    }
  }

  /** Returns the open file descriptor of this process that the unlinked path belongs to. */
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
