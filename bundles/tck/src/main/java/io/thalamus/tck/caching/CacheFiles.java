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
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.stream.Stream;

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

  /**
   * The way in which files are given to a device, right but for one thing.
   *
   * @param moreModel model files beyond what the device asked for
   * @param moreData data files beyond it
   * @param file the file that is opened otherwise than the rest: model files first; -1 for none
   * @param position at which the handles stand
   */
  record Way(int moreModel, int moreData, int file, Access access, long position) {
    static final Way RIGHT = at(0);

    static Way at(long position) {
      return new Way(0, 0, -1, Access.READ_WRITE, position);
    }

    static Way more(int model, int data) {
      return new Way(model, data, -1, Access.READ_WRITE, 0);
    }

    static Way opened(int file, Access access) {
      return new Way(0, 0, file, access, 0);
    }
  }

  /** A call with the settings that name the files. */
  @FunctionalInterface
  public interface Call<T> {
    /** Calls; the handles are closed afterwards. */
    T run(PrepareConfig config) throws Exception;
  }

  /** A call without a result. */
  @FunctionalInterface
  interface Use {
    void run(PrepareConfig config) throws Exception;
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

  List<Path> all() {
    return Stream.of(modelFiles(), dataFiles()).flatMap(List::stream).toList();
  }

  /** Calls with as many files as the device asked for. */
  public <T> T with(CacheToken token, Call<T> call) throws Exception {
    return with(token, Way.RIGHT, call);
  }

  void use(CacheToken token, Use use) throws Exception {
    use(token, Way.RIGHT, use);
  }

  /** Calls with the files given in this way. */
  void use(CacheToken token, Way way, Use use) throws Exception {
    with(
        token,
        way,
        config -> {
          use.run(config);
          return null;
        });
  }

  private <T> T with(CacheToken token, Way way, Call<T> call) throws Exception {
    List<Path> paths = new ArrayList<>(files(true, needs.modelCacheFiles() + way.moreModel()));
    int model = paths.size();
    paths.addAll(files(false, needs.dataCacheFiles() + way.moreData()));
    List<CacheFile> opened = new ArrayList<>();
    try {
      for (Path path : paths) {
        // Made where it is missing, even if another thread is about to.
        Files.write(path, new byte[0], StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        Access access = opened.size() == way.file() ? way.access() : Access.READ_WRITE;
        KitFile file = KitFile.open(path, access, handles);
        opened.add(file);
        if (file.channel().isOpen()) {
          file.channel().position(way.position());
        }
      }
      Cache cache =
          new Cache(opened.subList(0, model), opened.subList(model, opened.size()), token);
      return call.run(PrepareConfig.DEFAULT.with(cache));
    } finally {
      opened.forEach(CacheFile::close);
    }
  }

  /**
   * Copies these files into files that no device knows: a compiler of several stages may still
   * write these.
   */
  CacheFiles copy(Path to) throws IOException {
    CacheFiles copy = new CacheFiles(to, needs);
    for (Path file : all()) {
      Files.copy(file, to.resolve(file.getFileName()));
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
}
