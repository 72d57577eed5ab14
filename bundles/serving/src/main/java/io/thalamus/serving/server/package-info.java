// SPDX-License-Identifier: Apache-2.0
/**
 * The server: a folder that is watched, versions that take over from each other, and requests.
 *
 * <pre>
 *   ModelFolder -- FileStamp --> Models -- update --> ServedModel, Version -- load --> LoadedVersion
 *   infer --> Version.acquire --> RunningInference -- Execution --> runtime
 * </pre>
 */
package io.thalamus.serving.server;
