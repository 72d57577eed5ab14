// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.caching;

import io.thalamus.hal.CacheFile;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PrepareConfig.Cache;
import io.thalamus.model.CacheNeeds;
import io.thalamus.model.CacheToken;
import io.thalamus.tck.caching.KitFile.Access;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

/**
 * Files for one compilation, in a directory of theirs. Used by one thread. Handles are opened for
 * each call, and closed after it, as a runtime does.
 */
public final class CacheFiles {
  private final Path directory;
  private final CacheNeeds needs;
  private final Queue<FileChannel> handles = new ConcurrentLinkedQueue<>();

  /** Files that are not there yet. */
  public CacheFiles(Path directory, CacheNeeds needs) throws IOException {
    this.directory = Files.createDirectories(directory);
    this.needs = needs;
  }

  /** A file that is open in another way than the rest; none where the index is -1. */
  record Odd(boolean isModel, int index, Access access) {
    static final Odd NONE = new Odd(true, -1, Access.READ_WRITE);
  }

  /** A call with the settings that name the files. */
  @FunctionalInterface
  public interface Call<T> {
    /** Calls; the handles are closed afterwards. */
    T run(PrepareConfig config) throws Exception;
  }

  List<Path> modelFiles() {
    return files(true, needs.modelCacheFiles());
  }

  List<Path> dataFiles() {
    return files(false, needs.dataCacheFiles());
  }

  private List<Path> files(boolean isModel, int count) {
    List<Path> files = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      files.add(directory.resolve((isModel ? "model" : "data") + i));
    }
    return files;
  }

  /** Calls with as many files as the device asked for. */
  public <T> T with(CacheToken token, Call<T> call) throws Exception {
    return with(token, 0, 0, Odd.NONE, 0, call);
  }

  /** Calls with one file opened otherwise. */
  <T> T with(CacheToken token, Odd odd, Call<T> call) throws Exception {
    return with(token, 0, 0, odd, 0, call);
  }

  /** Calls with more files, or fewer. */
  <T> T with(CacheToken token, int moreModel, int moreData, Call<T> call) throws Exception {
    return with(token, moreModel, moreData, Odd.NONE, 0, call);
  }

  /** Calls with handles that stand at a position. */
  <T> T at(CacheToken token, long position, Call<T> call) throws Exception {
    return with(token, 0, 0, Odd.NONE, position, call);
  }

  private <T> T with(
      CacheToken token, int moreModel, int moreData, Odd odd, long position, Call<T> call)
      throws Exception {
    List<CacheFile> model = new ArrayList<>();
    List<CacheFile> data = new ArrayList<>();
    try {
      open(true, needs.modelCacheFiles() + moreModel, odd, position, model);
      open(false, needs.dataCacheFiles() + moreData, odd, position, data);
      return call.run(PrepareConfig.DEFAULT.with(new Cache(model, data, token)));
    } finally {
      model.forEach(CacheFile::close);
      data.forEach(CacheFile::close);
    }
  }

  private void open(boolean isModel, int count, Odd odd, long position, List<CacheFile> opened)
      throws IOException {
    List<Path> paths = files(isModel, count);
    for (int i = 0; i < count; i++) {
      // Made where it is missing, even if another thread is about to.
      Files.write(paths.get(i), new byte[0], StandardOpenOption.CREATE, StandardOpenOption.APPEND);
      boolean isOdd = odd.isModel() == isModel && odd.index() == i;
      KitFile file = KitFile.open(paths.get(i), isOdd ? odd.access() : Access.READ_WRITE, handles);
      opened.add(file);
      if (file.channel().isOpen()) {
        file.channel().position(position);
      }
    }
  }

  /**
   * Copies these files into files that no device knows: a compiler of several stages may still
   * write these.
   */
  CacheFiles copy(Path to) throws IOException {
    CacheFiles copy = new CacheFiles(to, needs);
    for (List<Path> files : List.of(modelFiles(), dataFiles())) {
      for (Path file : files) {
        Files.write(to.resolve(file.getFileName()), Files.readAllBytes(file));
      }
    }
    return copy;
  }

  /** Returns how many handles of these files are open, those included that a device duplicated. */
  long openHandles() {
    return handles.stream().filter(FileChannel::isOpen).count();
  }

  /** Flips one bit; false where the file has none. */
  static boolean flip(Path file, long random) throws IOException {
    byte[] bytes = Files.readAllBytes(file);
    if (bytes.length == 0) {
      return false;
    }
    long bit = Math.floorMod(random, 8L * bytes.length);
    bytes[(int) (bit / 8)] ^= (byte) (1 << bit % 8);
    Files.write(file, bytes);
    return true;
  }

  /** Appends bytes. */
  static void append(Path file, byte[] more) throws IOException {
    byte[] bytes = Files.readAllBytes(file);
    byte[] longer = Arrays.copyOf(bytes, bytes.length + more.length);
    System.arraycopy(more, 0, longer, bytes.length, more.length);
    Files.write(file, longer);
  }
}
