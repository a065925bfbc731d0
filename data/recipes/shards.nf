// shards.nf - a file of prompts in 8 shards by Nextflow, and then joined:
//
//     nextflow run data/recipes/shards.nf --model fable --prompts prompts.jsonl [-with-docker attn-cli] [-resume]
//
// A shard that was killed starts again, up to three times. Exit code 6 is no failure of the shard: it is whole but for records
// that failed, which its manifest counts. -resume makes only those shards that are missing.
params.model = 'fable'
params.prompts = 'prompts.jsonl'
params.shards = 8

process SHARD {
    cpus 2
    errorStrategy { task.exitStatus > 128 ? 'retry' : 'finish' }
    maxRetries 3

    input:
    tuple val(number), path(prompts)

    output:
    path 'results-*-of-*.jsonl'

    script:
    """
    attn-cli batch -m ${params.model} -t ${task.cpus} -q -o results.jsonl --shard ${number}/${params.shards} ${prompts} ||
        [ \$? -eq 6 ]
    """
}

workflow {
    shards = Channel.of(0..<params.shards)
    SHARD(shards.combine(Channel.fromPath(params.prompts)))
        .collectFile(name: 'results.jsonl', sort: { it.name }, storeDir: '.')
}
