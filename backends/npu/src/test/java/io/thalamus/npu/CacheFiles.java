// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu;

import io.thalamus.hal.CacheFile;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PrepareConfig.Cache;
import io.thalamus.model.CacheToken;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;

/** The two files of a compilation, and settings that name them. Closed by whoever opened it. */
record CacheFiles(Path model, Path data, CacheToken token, List<CacheFile> handles)
    implements AutoCloseable {
  static CacheFiles in(Path directory, int token) {
    Path model = directory.resolve("model");
    Path data = directory.resolve("data");
    return new CacheFiles(model, data, token(token), List.of(new Handle(model), new Handle(data)));
  }

  static CacheToken token(int number) {
    return CacheToken.of(ByteBuffer.allocate(CacheToken.SIZE).putInt(number).array());
  }

  PrepareConfig config() {
    return PrepareConfig.DEFAULT.with(
        new Cache(List.of(handles.get(0)), List.of(handles.get(1)), token));
  }

  @Override
  public void close() {
    handles.forEach(CacheFile::close);
  }

  private record Handle(Path path, FileChannel channel) implements CacheFile {
    Handle(Path path) {
      this(path, open(path));
    }

    private static FileChannel open(Path path) {
      try {
        return FileChannel.open(
            path, StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE);
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }

    @Override
    public CacheFile duplicate() {
      return new Handle(path);
    }

    @Override
    public void close() {
      try {
        channel.close();
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }
}
