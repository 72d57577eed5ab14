// SPDX-License-Identifier: Apache-2.0
/** Events of the runtime as traces and figures: what ran where and when. */
package io.thalamus.shell.trace;
