// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.metadata;

import static io.thalamus.model.LittleEndian.INT;
import static io.thalamus.model.LittleEndian.SHORT;

import io.thalamus.tflite.file.Refusal;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import java.util.zip.DataFormatException;
import java.util.zip.Inflater;

/**
 * The zip archive that may follow the model in the same file. The classes of {@code java.util.zip}
 * read archives from a path or a stream only, so its directory is read here, and they inflate.
 *
 * <p>From the end backwards (PKWARE's APPNOTE.TXT, 4.3):
 *
 * <pre>
 *   model | local header, name, extra, data | ... | directory entry | ... | end of directory
 * </pre>
 */
final class AttachedFiles {
  private static final int END_SIGNATURE = 0x06054b50;
  private static final int END_SIZE = 22;
  private static final int END_COUNT = 10;
  private static final int END_DIRECTORY_SIZE = 12;
  private static final int END_DIRECTORY_OFFSET = 16;
  private static final int LONGEST_COMMENT = 0xFFFF;

  private static final int ENTRY_SIGNATURE = 0x02014b50;
  private static final int ENTRY_SIZE = 46;
  private static final int ENTRY_METHOD = 10;
  private static final int ENTRY_COMPRESSED = 20;
  private static final int ENTRY_EXPANDED = 24;
  private static final int ENTRY_NAME_LENGTH = 28;
  private static final int ENTRY_EXTRA_LENGTH = 30;
  private static final int ENTRY_COMMENT_LENGTH = 32;
  private static final int ENTRY_LOCAL_OFFSET = 42;

  private static final int LOCAL_SIGNATURE = 0x04034b50;
  private static final int LOCAL_SIZE = 30;
  private static final int LOCAL_NAME_LENGTH = 26;
  private static final int LOCAL_EXTRA_LENGTH = 28;

  private static final int STORED = 0;
  private static final int DEFLATED = 8;

  /** A list of labels is text of a few kilobytes. */
  private static final int MAX_EXPANDED = 1 << 20;

  private AttachedFiles() {}

  /**
   * The text of a file in the archive; empty where there is no archive, or no such file in it.
   *
   * @throws Refusal where the archive is damaged, or the file larger than 1 MiB
   */
  static Optional<String> text(MemorySegment file, String name) {
    try {
      long end = endOfDirectory(file);
      return end < 0 ? Optional.empty() : find(file, end, name);
    } catch (IndexOutOfBoundsException e) {
      throw damaged("it points outside of the file", e);
    }
  }

  private static long endOfDirectory(MemorySegment file) {
    long first = Math.max(0, file.byteSize() - END_SIZE - LONGEST_COMMENT);
    for (long at = file.byteSize() - END_SIZE; at >= first; at--) {
      if (file.get(INT, at) == END_SIGNATURE) {
        return at;
      }
    }
    return -1;
  }

  private static Optional<String> find(MemorySegment file, long end, String name) {
    int count = unsignedShort(file, end + END_COUNT);
    long size = unsignedInt(file, end + END_DIRECTORY_SIZE);
    // Offsets count from the start of the archive, which some writers take to be that of the file.
    long directory = end - size;
    long shift = directory - unsignedInt(file, end + END_DIRECTORY_OFFSET);
    long entry = directory;
    byte[] wanted = name.getBytes(StandardCharsets.UTF_8);
    for (int i = 0; i < count; i++) {
      if (file.get(INT, entry) != ENTRY_SIGNATURE) {
        throw damaged("entry " + i + " of its directory has no signature", null);
      }
      int nameLength = unsignedShort(file, entry + ENTRY_NAME_LENGTH);
      MemorySegment found = file.asSlice(entry + ENTRY_SIZE, nameLength);
      if (found.mismatch(MemorySegment.ofArray(wanted)) == -1) {
        return Optional.of(expand(file, entry, shift, name));
      }
      entry +=
          ENTRY_SIZE
              + nameLength
              + unsignedShort(file, entry + ENTRY_EXTRA_LENGTH)
              + unsignedShort(file, entry + ENTRY_COMMENT_LENGTH);
    }
    return Optional.empty();
  }

  private static String expand(MemorySegment file, long entry, long shift, String name) {
    long local = unsignedInt(file, entry + ENTRY_LOCAL_OFFSET) + shift;
    if (file.get(INT, local) != LOCAL_SIGNATURE) {
      throw damaged("'" + name + "' has no header", null);
    }
    long data =
        local
            + LOCAL_SIZE
            + unsignedShort(file, local + LOCAL_NAME_LENGTH)
            + unsignedShort(file, local + LOCAL_EXTRA_LENGTH);
    long compressed = unsignedInt(file, entry + ENTRY_COMPRESSED);
    long expanded = unsignedInt(file, entry + ENTRY_EXPANDED);
    if (expanded > MAX_EXPANDED) {
      throw new Refusal(
          "the label file '" + name + "' has " + expanded + " bytes, more than " + MAX_EXPANDED);
    }
    MemorySegment bytes = file.asSlice(data, compressed);
    byte[] text =
        switch (unsignedShort(file, entry + ENTRY_METHOD)) {
          case STORED -> {
            if (compressed != expanded) {
              throw damaged("'" + name + "' has two sizes", null);
            }
            yield bytes.toArray(ValueLayout.JAVA_BYTE);
          }
          case DEFLATED -> inflate(bytes, (int) expanded, name);
          default -> throw damaged("'" + name + "' is packed in an unknown way", null);
        };
    return new String(text, StandardCharsets.UTF_8);
  }

  private static byte[] inflate(MemorySegment compressed, int size, String name) {
    byte[] expanded = new byte[size];
    try (Inflater inflater = new Inflater(true)) {
      inflater.setInput(compressed.asByteBuffer());
      int done = 0;
      while (done < size) {
        int step = inflater.inflate(expanded, done, size - done);
        if (step == 0) {
          throw damaged("'" + name + "' ends early", null);
        }
        done += step;
      }
      return expanded;
    } catch (DataFormatException e) {
      throw damaged("'" + name + "' cannot be inflated", e);
    }
  }

  private static int unsignedShort(MemorySegment file, long at) {
    return Short.toUnsignedInt(file.get(SHORT, at));
  }

  private static long unsignedInt(MemorySegment file, long at) {
    return Integer.toUnsignedLong(file.get(INT, at));
  }

  private static Refusal damaged(String reason, Exception cause) {
    return new Refusal("the archive behind the model is damaged: " + reason, cause);
  }
}
