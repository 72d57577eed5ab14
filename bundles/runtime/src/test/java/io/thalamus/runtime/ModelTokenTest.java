// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import io.thalamus.api.LoadedModel;
import io.thalamus.api.NeuralNetworksException;
import io.thalamus.cache.CacheEngine;
import io.thalamus.cache.FileCacheEngine;
import io.thalamus.memory.files.Digests;
import io.thalamus.model.CacheToken;
import io.thalamus.model.ModelDigest;
import io.thalamus.model.reader.ReadOptions;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ModelTokenTest {
  /** The polynomials of CRC-32 and CRC-32C, without their highest terms. */
  private static final long CRC32 = 0x04C1_1DB7L;

  private static final long CRC32C = 0x1EDC_6F41L;
  private static final int DEGREE = 32;

  @TempDir private Path folder;

  private FileCacheEngine engine(String storage) {
    return new FileCacheEngine(folder.resolve(storage), "io.thalamus.runtime");
  }

  private static LoadedModel load(CacheEngine engine, byte[] bytes) throws NeuralNetworksException {
    ModelLoader loader = new ModelLoader(engine);
    loader.addReader(new ModelLoaderTest.LetterReader());
    return loader.load(
        "letter", MemorySegment.ofArray(bytes), ReadOptions.DEFAULT, new HashSet<>());
  }

  private static CacheToken token(CacheEngine engine, byte[] bytes) throws NeuralNetworksException {
    try (LoadedModel model = load(engine, bytes)) {
      return model.token();
    }
  }

  @Test
  void processesOfOneStorageAgreeAndOthersDoNot() throws Exception {
    byte[] bytes = ModelLoaderTest.letter(2);
    try (FileCacheEngine one = engine("one");
        FileCacheEngine next = engine("one");
        FileCacheEngine other = engine("other")) {
      CacheToken token = token(one, bytes);
      assertEquals(token, token(next, bytes));
      assertNotEquals(token, token(other, bytes), "anybody could make a file with this token");
    }
  }

  @Test
  void theDigestIsTheSameForEverybody() throws Exception {
    byte[] bytes = ModelLoaderTest.letter(2);
    byte[] expected = Digests.sha256().digest(bytes);
    Path file = Files.writeString(folder.resolve("file"), "no directory");
    try (FileCacheEngine broken = engine("file");
        FileCacheEngine engine = engine("one");
        LoadedModel with = load(engine, bytes)) {
      assertArrayEquals(expected, with.digest());
      assertNotEquals(CacheToken.of(expected), with.token());
      assertEquals(CacheToken.of(expected), token(null, bytes));
      assertEquals(CacheToken.of(expected), token(broken, bytes), "without a key in " + file);
    }
  }

  /** Of two such models, the fingerprints that the runtime adds to tokens are the same. */
  @Test
  void anotherModelThatHasTheFingerprintHasAnotherToken() throws Exception {
    byte[] bytes = ModelLoaderTest.letter(2);
    byte[] forged = bytes.clone();
    // A multiple of both polynomials changes no remainder. The term of degree 64 comes first.
    boolean[] product = new boolean[2 * DEGREE + 1];
    for (int i = 0; i <= DEGREE; i++) {
      for (int j = 0; j <= DEGREE; j++) {
        product[i + j] ^= hasTerm(CRC32, i) && hasTerm(CRC32C, j);
      }
    }
    for (int bit = 0; bit < product.length; bit++) {
      if (product[product.length - 1 - bit]) {
        forged[Long.BYTES + bit / Byte.SIZE] ^= (byte) (1 << bit % Byte.SIZE);
      }
    }
    try (FileCacheEngine engine = engine("one");
        LoadedModel model = load(engine, bytes);
        LoadedModel other = load(engine, forged)) {
      assertArrayEquals(
          ModelDigest.fingerprint(model.model()), ModelDigest.fingerprint(other.model()));
      assertNotEquals(model.token(), other.token());
    }
  }

  private static boolean hasTerm(long polynomial, int degree) {
    return degree == DEGREE || (polynomial >>> degree & 1) != 0;
  }
}
