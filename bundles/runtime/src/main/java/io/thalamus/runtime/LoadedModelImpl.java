// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime;

import io.thalamus.api.LoadedModel;
import io.thalamus.api.NeuralNetworksException;
import io.thalamus.memory.files.Digests;
import io.thalamus.model.CacheToken;
import io.thalamus.model.Shape;
import io.thalamus.model.reader.ModelFile;
import io.thalamus.model.reader.ReadOptions;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Collection;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicBoolean;

/** A model with the bytes of its file, which it owns together with others read from them. */
final class LoadedModelImpl implements LoadedModel {
  private final ModelBytes bytes;
  private final ReadOptions options;
  private final ModelFile file;
  private final Collection<LoadedModel> open;
  private final AtomicBoolean closed = new AtomicBoolean();

  /** Null until it is first asked for. */
  private CacheToken token;

  /**
   * A model that is open from now on.
   *
   * @param bytes counts this model, until it is closed
   * @param open holds this as long as it is open
   */
  LoadedModelImpl(
      ModelBytes bytes, ReadOptions options, ModelFile file, Collection<LoadedModel> open) {
    this.bytes = bytes;
    this.options = options;
    this.file = file;
    this.open = open;
    open.add(this);
  }

  @Override
  public Path path() {
    return bytes.path();
  }

  @Override
  public ModelFile file() {
    return file;
  }

  @Override
  public ReadOptions options() {
    return options;
  }

  @Override
  public LoadedModel with(ReadOptions other) throws NeuralNetworksException {
    return ModelLoader.read(bytes, other, open);
  }

  @Override
  public CacheToken token() {
    synchronized (closed) {
      if (token == null) {
        token = CacheToken.of(withChoices(bytes.code()));
      }
      return token;
    }
  }

  @Override
  public byte[] digest() {
    return withChoices(bytes.digest());
  }

  private byte[] withChoices(byte[] ofBytes) {
    if (options.equals(ReadOptions.DEFAULT)) {
      return ofBytes;
    }
    Map<String, Shape> sorted = new TreeMap<>(options.shapes());
    byte[] choices =
        (options.signature() + sorted + options.hybrid()).getBytes(StandardCharsets.UTF_8);
    byte[] both = new byte[ofBytes.length + choices.length];
    System.arraycopy(ofBytes, 0, both, 0, ofBytes.length);
    System.arraycopy(choices, 0, both, ofBytes.length, choices.length);
    return Digests.sha256(MemorySegment.ofArray(both));
  }

  @Override
  public void close() {
    if (closed.compareAndSet(false, true)) {
      // Compilations hold leases: the bytes stay until the last of them is closed.
      bytes.models().release();
      open.remove(this);
    }
  }
}
