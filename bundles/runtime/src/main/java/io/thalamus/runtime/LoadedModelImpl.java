// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime;

import io.thalamus.api.LoadedModel;
import io.thalamus.memory.SharedMemory;
import io.thalamus.memory.files.Digests;
import io.thalamus.model.CacheToken;
import io.thalamus.model.reader.ModelFile;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;

/** A model with the bytes of its file, which it owns. */
final class LoadedModelImpl implements LoadedModel {
  private final Path path;
  private final ModelFile file;
  private final SharedMemory memory;
  private final Consumer<LoadedModel> onClose;
  private final AtomicBoolean closed = new AtomicBoolean();

  /** Null until it is first asked for. */
  private CacheToken token;

  LoadedModelImpl(Path path, ModelFile file, SharedMemory memory, Consumer<LoadedModel> onClose) {
    this.path = path;
    this.file = file;
    this.memory = memory;
    this.onClose = onClose;
  }

  @Override
  public Path path() {
    return path;
  }

  @Override
  public ModelFile file() {
    return file;
  }

  @Override
  public CacheToken token() {
    synchronized (closed) {
      if (token == null) {
        try (SharedMemory.Lease _ = memory.lend()) {
          token = CacheToken.of(Digests.sha256(memory.segment()));
        }
      }
      return token;
    }
  }

  @Override
  public void close() {
    if (closed.compareAndSet(false, true)) {
      // Compilations hold leases: the bytes stay until the last of them is closed.
      memory.close();
      onClose.accept(this);
    }
  }
}
