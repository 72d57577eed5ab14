// SPDX-License-Identifier: Apache-2.0
package io.thalamus.memory;

import java.nio.file.Path;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * A hardware buffer as another process needs it: the description, the layout that the allocator
 * chose, and the memory. A value; it stays valid as long as the {@link HardwareBuffer} that it
 * describes is open.
 *
 * @param stride distance of two rows in pixels
 */
public record HardwareBufferHandle(HardwareBufferDesc desc, int stride, SharedMemoryHandle memory) {
  private static final String BEGIN = "hardware_buffer/1";
  private static final int FIELDS = 11;

  public HardwareBufferHandle {
    Objects.requireNonNull(desc, "desc");
    Objects.requireNonNull(memory, "memory");
    if (stride < desc.width()) {
      throw new IllegalArgumentException(
          "rows of %d pixels do not fit a stride of %d".formatted(desc.width(), stride));
    }
    if (memory.size() != desc.size(stride) || memory.kind() != desc.kind()) {
      throw new IllegalArgumentException(
          "%d bytes of %s are no such buffer, which has %d of %s"
              .formatted(
                  memory.size(),
                  memory.kind().halName(),
                  desc.size(stride),
                  desc.kind().halName()));
    }
  }

  /** Returns a line of text that {@link #parse} reads, for an argument or a pipe. */
  public String text() {
    String usage = desc.usage().stream().sorted().map(Enum::name).collect(Collectors.joining("+"));
    return String.join(
        " ",
        BEGIN,
        Integer.toString(desc.width()),
        Integer.toString(desc.height()),
        Integer.toString(desc.layers()),
        Integer.toString(desc.format().number()),
        usage,
        Integer.toString(stride),
        Long.toString(memory.offset()),
        Long.toString(memory.size()),
        memory.writable() ? "rw" : "r",
        memory.file().toString());
  }

  /**
   * Returns the handle of a text.
   *
   * @throws IllegalArgumentException if it is no handle, or contradicts itself
   */
  public static HardwareBufferHandle parse(String text) {
    List<String> words = List.of(text.split(" ", FIELDS));
    if (words.size() != FIELDS || !words.getFirst().equals(BEGIN)) {
      throw new IllegalArgumentException("not the handle of a hardware buffer: " + text);
    }
    int number = Integer.parseInt(words.get(4));
    HardwareBufferDesc.Format format =
        Arrays.stream(HardwareBufferDesc.Format.values())
            .filter(one -> one.number() == number)
            .findFirst()
            .orElseThrow(
                () -> new IllegalArgumentException("pixels of an unknown format: " + number));
    Set<HardwareBufferDesc.Usage> usage = EnumSet.noneOf(HardwareBufferDesc.Usage.class);
    for (String word : words.get(5).split("\\+")) {
      usage.add(HardwareBufferDesc.Usage.valueOf(word));
    }
    HardwareBufferDesc desc =
        new HardwareBufferDesc(
            Integer.parseInt(words.get(1)),
            Integer.parseInt(words.get(2)),
            Integer.parseInt(words.get(3)),
            format,
            usage);
    return new HardwareBufferHandle(
        desc,
        Integer.parseInt(words.get(6)),
        new SharedMemoryHandle(
            desc.kind(),
            Path.of(words.get(10)),
            Long.parseLong(words.get(7)),
            Long.parseLong(words.get(8)),
            words.get(9).equals("rw")));
  }
}
